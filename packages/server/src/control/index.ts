export { type ControlPlane, type ControlPlaneOptions, createControlPlane } from "./plane.js"
export type { Role } from "./roles.js"
export { assertSafeToListen } from "./safe-listening.js"
export { hashToken, newToken, type TokenSpec } from "./tokens.js"
