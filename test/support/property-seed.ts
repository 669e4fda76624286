/**
 * The seed of every property test: fixed in CI, so that a run there says something about the change alone; a new one
 * elsewhere, so that something is found. A failure prints it; `SORTIE_TEST_SEED` runs it again.
 */
import fc from "fast-check";

const CI_SEED = 20_261_130;
const { SORTIE_TEST_SEED: given, CI: inCi } = process.env;
const seed = given === undefined ? (inCi ? CI_SEED : Date.now() | 0) : Number(given);

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
