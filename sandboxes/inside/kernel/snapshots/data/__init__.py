"""Objects of libraries for data, each kind in a file: arrays, tables, pictures, figures, trees."""
