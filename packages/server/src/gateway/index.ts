export { type StartedGateway, type StartGatewayOptions, startGateway } from "./start-gateway.js"
