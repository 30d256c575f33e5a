"""The command line. ``main`` declares the commands; each imports its own module only when it runs."""
