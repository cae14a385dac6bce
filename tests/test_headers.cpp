// Owns the precompiled headers of all tests.
