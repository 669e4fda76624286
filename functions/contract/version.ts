/** Of this release; as in `package.json`, which a bundle has not. */
export const VERSION = "0.1.0";
