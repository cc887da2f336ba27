# The image of sandboxes of kind `docker`: docker build -t stepwell-sandbox - < deploy/sandbox.Dockerfile
# What cells may import is up to you; `sh`, Python 3.11 or newer as python3, and pandas have to be there.
FROM python:3.12-slim
RUN pip install --no-cache-dir \
    "pandas>=3.0" "numpy>=2.3" "scipy>=1.16" "scikit-learn>=1.7" "statsmodels>=0.14.5" \
    "matplotlib>=3.10" "seaborn>=0.13" "openpyxl>=3.1" "xlrd>=2.0" "pyarrow>=21" "duckdb>=1.4" "polars>=1.30" \
    "pypdf>=6" "lxml>=6" "charset-normalizer>=3.4" "matplotlib-fontja>=1.1" "koreanize-matplotlib>=0.1.1"
