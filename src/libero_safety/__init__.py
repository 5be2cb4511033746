"""A benchmark of physical and semantic safety for vision-language-action robot policies."""
