/** Fails while it is loaded. */
throw new Error("no such file: weights.bin");
