export { createDataPlane, type DataPlane, type DataPlaneOptions } from "./plane.js"
