"""Output for people and programs: tables, trees, texts, formats, progress, prompts."""
