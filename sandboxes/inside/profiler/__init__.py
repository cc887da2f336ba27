"""What a file holds, in a few hundred words for a language model; runs inside the sandbox, standard library first."""
