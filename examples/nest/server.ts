// nest: each client may send 3 requests per minute. One handler has its own limit, and the health check has none.
//
//   npm run build && node examples/nest/dist/server.js
//   prints: listening on http://127.0.0.1:3000
//
//   curl -i http://127.0.0.1:3000/        → 200; hello; x-ratelimit-remaining: 2
//   curl -i http://127.0.0.1:3000/search  → 200; found; x-ratelimit-remaining: 0
//   curl -i http://127.0.0.1:3000/search  → 429; Too many requests; retry-after: 60
//   curl -i http://127.0.0.1:3000/        → 200; hello; x-ratelimit-remaining: 1
//   curl -i http://127.0.0.1:3000/        → 200; hello; x-ratelimit-remaining: 0
//   curl -i http://127.0.0.1:3000/        → 429; Too many requests; retry-after: 20
//   curl -i http://127.0.0.1:3000/health  → 200; fine

import "reflect-metadata"
import { Controller, Get, Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { RateLimit, RateLimitModule, SkipRateLimit } from "sluice/nest"

@Controller()
class AppController {
  @Get()
  hello(): string {
    return "hello\n"
  }

  @RateLimit({ algorithm: "token-bucket", limit: 1, window: "1m" })
  @Get("search")
  search(): string {
    return "found\n"
  }

  @SkipRateLimit()
  @Get("health")
  health(): string {
    return "fine\n"
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ algorithm: "token-bucket", limit: 3, window: "1m" })],
  controllers: [AppController],
})
class AppModule {}

const port = Number(process.env.PORT ?? 3000)
const app = await NestFactory.create(AppModule, { logger: false })
await app.listen(port, "127.0.0.1")
console.log(`listening on http://127.0.0.1:${port}`)
