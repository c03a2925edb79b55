export { type RespOptions, startResp } from "./resp-listener.js"
