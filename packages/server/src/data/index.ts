export { createDataPlane, type DataPlaneOptions } from "./plane.js"
