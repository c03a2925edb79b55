// Made from packages/server/proto by scripts/generate/file-descriptors.mjs. DO NOT EDIT: run npm run generate.
// biome-ignore-all format: one entry per line.

export interface FileDescriptor {
  readonly name: string
  readonly imports: readonly string[]
  /** The full names of its messages, enums, services and methods. */
  readonly symbols: readonly string[]
  /** The FileDescriptorProto. */
  readonly base64: string
}

export const fileDescriptors: readonly FileDescriptor[] = [
  {
    name: "envoy/config/core/v3/base.proto",
    imports: [],
    symbols: [
      "envoy.config.core.v3.HeaderValue",
    ],
    base64:
      "Ch9lbnZveS9jb25maWcvY29yZS92My9iYXNlLnByb3RvEhRlbnZveS5jb25maWcuY29yZS52MyIpCgtIZWFkZXJWYWx1ZRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAliBnByb3RvMw==",
  },
  {
    name: "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
    imports: [
      "envoy/type/v3/ratelimit_unit.proto",
      "google/protobuf/wrappers.proto",
    ],
    symbols: [
      "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor",
      "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry",
      "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride",
    ],
    base64:
      "CjRlbnZveS9leHRlbnNpb25zL2NvbW1vbi9yYXRlbGltaXQvdjMvcmF0ZWxpbWl0LnByb3RvEiRlbnZveS5leHRlbnNpb25zLmNvbW1vbi5yYXRlbGltaXQudjMaImVudm95L3R5cGUvdjMvcmF0ZWxpbWl0X3VuaXQucHJvdG8aHmdvb2dsZS9wcm90b2J1Zi93cmFwcGVycy5wcm90byKUAwoTUmF0ZUxpbWl0RGVzY3JpcHRvchJQCgdlbnRyaWVzGAEgAygLMj8uZW52b3kuZXh0ZW5zaW9ucy5jb21tb24ucmF0ZWxpbWl0LnYzLlJhdGVMaW1pdERlc2NyaXB0b3IuRW50cnkSWgoFbGltaXQYAiABKAsySy5lbnZveS5leHRlbnNpb25zLmNvbW1vbi5yYXRlbGltaXQudjMuUmF0ZUxpbWl0RGVzY3JpcHRvci5SYXRlTGltaXRPdmVycmlkZRI9CgtoaXRzX2FkZGVuZBgDIAEoCzIcLmdvb2dsZS5wcm90b2J1Zi5VSW50NjRWYWx1ZVIKaGl0c0FkZGVuZBojCgVFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAkaawoRUmF0ZUxpbWl0T3ZlcnJpZGUSKgoRcmVxdWVzdHNfcGVyX3VuaXQYASABKA1SD3JlcXVlc3RzUGVyVW5pdBIqCgR1bml0GAIgASgOMhwuZW52b3kudHlwZS52My5SYXRlTGltaXRVbml0YgZwcm90bzM=",
  },
  {
    name: "envoy/service/ratelimit/v3/rls.proto",
    imports: [
      "envoy/config/core/v3/base.proto",
      "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
      "google/protobuf/duration.proto",
    ],
    symbols: [
      "envoy.service.ratelimit.v3.RateLimitService",
      "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit",
      "envoy.service.ratelimit.v3.RateLimitRequest",
      "envoy.service.ratelimit.v3.RateLimitResponse",
      "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit",
      "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit",
      "envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus",
      "envoy.service.ratelimit.v3.RateLimitResponse.Code",
    ],
    base64:
      "CiRlbnZveS9zZXJ2aWNlL3JhdGVsaW1pdC92My9ybHMucHJvdG8SGmVudm95LnNlcnZpY2UucmF0ZWxpbWl0LnYzGh9lbnZveS9jb25maWcvY29yZS92My9iYXNlLnByb3RvGjRlbnZveS9leHRlbnNpb25zL2NvbW1vbi9yYXRlbGltaXQvdjMvcmF0ZWxpbWl0LnByb3RvGh5nb29nbGUvcHJvdG9idWYvZHVyYXRpb24ucHJvdG8ikwEKEFJhdGVMaW1pdFJlcXVlc3QSDgoGZG9tYWluGAEgASgJEk4KC2Rlc2NyaXB0b3JzGAIgAygLMjkuZW52b3kuZXh0ZW5zaW9ucy5jb21tb24ucmF0ZWxpbWl0LnYzLlJhdGVMaW1pdERlc2NyaXB0b3ISHwoLaGl0c19hZGRlbmQYAyABKA1SCmhpdHNBZGRlbmQi4QYKEVJhdGVMaW1pdFJlc3BvbnNlElUKDG92ZXJhbGxfY29kZRgBIAEoDjIyLmVudm95LnNlcnZpY2UucmF0ZWxpbWl0LnYzLlJhdGVMaW1pdFJlc3BvbnNlLkNvZGVSC292ZXJhbGxDb2RlElAKCHN0YXR1c2VzGAIgAygLMj4uZW52b3kuc2VydmljZS5yYXRlbGltaXQudjMuUmF0ZUxpbWl0UmVzcG9uc2UuRGVzY3JpcHRvclN0YXR1cxJYChdyZXNwb25zZV9oZWFkZXJzX3RvX2FkZBgDIAMoCzIhLmVudm95LmNvbmZpZy5jb3JlLnYzLkhlYWRlclZhbHVlUhRyZXNwb25zZUhlYWRlcnNUb0FkZBrwAQoJUmF0ZUxpbWl0EioKEXJlcXVlc3RzX3Blcl91bml0GAEgASgNUg9yZXF1ZXN0c1BlclVuaXQSSgoEdW5pdBgCIAEoDjI8LmVudm95LnNlcnZpY2UucmF0ZWxpbWl0LnYzLlJhdGVMaW1pdFJlc3BvbnNlLlJhdGVMaW1pdC5Vbml0EgwKBG5hbWUYAyABKAkiXQoEVW5pdBILCgdVTktOT1dOEAASCgoGU0VDT05EEAESCgoGTUlOVVRFEAISCAoESE9VUhADEgcKA0RBWRAEEgkKBU1PTlRIEAUSCAoEWUVBUhAGEggKBFdFRUsQBxqoAgoQRGVzY3JpcHRvclN0YXR1cxJACgRjb2RlGAEgASgOMjIuZW52b3kuc2VydmljZS5yYXRlbGltaXQudjMuUmF0ZUxpbWl0UmVzcG9uc2UuQ29kZRJcCg1jdXJyZW50X2xpbWl0GAIgASgLMjcuZW52b3kuc2VydmljZS5yYXRlbGltaXQudjMuUmF0ZUxpbWl0UmVzcG9uc2UuUmF0ZUxpbWl0UgxjdXJyZW50TGltaXQSJwoPbGltaXRfcmVtYWluaW5nGAMgASgNUg5saW1pdFJlbWFpbmluZxJLChRkdXJhdGlvbl91bnRpbF9yZXNldBgEIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvblISZHVyYXRpb25VbnRpbFJlc2V0IisKBENvZGUSCwoHVU5LTk9XThAAEgYKAk9LEAESDgoKT1ZFUl9MSU1JVBACMoIBChBSYXRlTGltaXRTZXJ2aWNlEm4KD1Nob3VsZFJhdGVMaW1pdBIsLmVudm95LnNlcnZpY2UucmF0ZWxpbWl0LnYzLlJhdGVMaW1pdFJlcXVlc3QaLS5lbnZveS5zZXJ2aWNlLnJhdGVsaW1pdC52My5SYXRlTGltaXRSZXNwb25zZWIGcHJvdG8z",
  },
  {
    name: "envoy/type/v3/ratelimit_unit.proto",
    imports: [],
    symbols: [
      "envoy.type.v3.RateLimitUnit",
    ],
    base64:
      "CiJlbnZveS90eXBlL3YzL3JhdGVsaW1pdF91bml0LnByb3RvEg1lbnZveS50eXBlLnYzKmYKDVJhdGVMaW1pdFVuaXQSCwoHVU5LTk9XThAAEgoKBlNFQ09ORBABEgoKBk1JTlVURRACEggKBEhPVVIQAxIHCgNEQVkQBBIJCgVNT05USBAFEggKBFlFQVIQBhIICgRXRUVLEAdiBnByb3RvMw==",
  },
  {
    name: "google/protobuf/duration.proto",
    imports: [],
    symbols: [
      "google.protobuf.Duration",
    ],
    base64:
      "Ch5nb29nbGUvcHJvdG9idWYvZHVyYXRpb24ucHJvdG8SD2dvb2dsZS5wcm90b2J1ZiIqCghEdXJhdGlvbhIPCgdzZWNvbmRzGAEgASgDEg0KBW5hbm9zGAIgASgFYgZwcm90bzM=",
  },
  {
    name: "google/protobuf/wrappers.proto",
    imports: [],
    symbols: [
      "google.protobuf.DoubleValue",
      "google.protobuf.FloatValue",
      "google.protobuf.Int64Value",
      "google.protobuf.UInt64Value",
      "google.protobuf.Int32Value",
      "google.protobuf.UInt32Value",
      "google.protobuf.BoolValue",
      "google.protobuf.StringValue",
      "google.protobuf.BytesValue",
    ],
    base64:
      "Ch5nb29nbGUvcHJvdG9idWYvd3JhcHBlcnMucHJvdG8SD2dvb2dsZS5wcm90b2J1ZiIcCgtEb3VibGVWYWx1ZRINCgV2YWx1ZRgBIAEoASIbCgpGbG9hdFZhbHVlEg0KBXZhbHVlGAEgASgCIhsKCkludDY0VmFsdWUSDQoFdmFsdWUYASABKAMiHAoLVUludDY0VmFsdWUSDQoFdmFsdWUYASABKAQiGwoKSW50MzJWYWx1ZRINCgV2YWx1ZRgBIAEoBSIcCgtVSW50MzJWYWx1ZRINCgV2YWx1ZRgBIAEoDSIaCglCb29sVmFsdWUSDQoFdmFsdWUYASABKAgiHAoLU3RyaW5nVmFsdWUSDQoFdmFsdWUYASABKAkiGwoKQnl0ZXNWYWx1ZRINCgV2YWx1ZRgBIAEoDGIGcHJvdG8z",
  },
  {
    name: "grpc/health/v1/health.proto",
    imports: [],
    symbols: [
      "grpc.health.v1.HealthCheckRequest",
      "grpc.health.v1.HealthCheckResponse",
      "grpc.health.v1.HealthCheckResponse.ServingStatus",
      "grpc.health.v1.Health",
      "grpc.health.v1.Health.Check",
      "grpc.health.v1.Health.Watch",
    ],
    base64:
      "ChtncnBjL2hlYWx0aC92MS9oZWFsdGgucHJvdG8SDmdycGMuaGVhbHRoLnYxIiUKEkhlYWx0aENoZWNrUmVxdWVzdBIPCgdzZXJ2aWNlGAEgASgJIqkBChNIZWFsdGhDaGVja1Jlc3BvbnNlEkEKBnN0YXR1cxgBIAEoDjIxLmdycGMuaGVhbHRoLnYxLkhlYWx0aENoZWNrUmVzcG9uc2UuU2VydmluZ1N0YXR1cyJPCg1TZXJ2aW5nU3RhdHVzEgsKB1VOS05PV04QABILCgdTRVJWSU5HEAESDwoLTk9UX1NFUlZJTkcQAhITCg9TRVJWSUNFX1VOS05PV04QAzKuAQoGSGVhbHRoElAKBUNoZWNrEiIuZ3JwYy5oZWFsdGgudjEuSGVhbHRoQ2hlY2tSZXF1ZXN0GiMuZ3JwYy5oZWFsdGgudjEuSGVhbHRoQ2hlY2tSZXNwb25zZRJSCgVXYXRjaBIiLmdycGMuaGVhbHRoLnYxLkhlYWx0aENoZWNrUmVxdWVzdBojLmdycGMuaGVhbHRoLnYxLkhlYWx0aENoZWNrUmVzcG9uc2UwAWIGcHJvdG8z",
  },
  {
    name: "grpc/reflection/v1/reflection.proto",
    imports: [],
    symbols: [
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1.ServerReflection.ServerReflectionInfo",
      "grpc.reflection.v1.ServerReflectionRequest",
      "grpc.reflection.v1.ExtensionRequest",
      "grpc.reflection.v1.ServerReflectionResponse",
      "grpc.reflection.v1.FileDescriptorResponse",
      "grpc.reflection.v1.ExtensionNumberResponse",
      "grpc.reflection.v1.ListServiceResponse",
      "grpc.reflection.v1.ServiceResponse",
      "grpc.reflection.v1.ErrorResponse",
    ],
    base64:
      "CiNncnBjL3JlZmxlY3Rpb24vdjEvcmVmbGVjdGlvbi5wcm90bxISZ3JwYy5yZWZsZWN0aW9uLnYxIuwCChdTZXJ2ZXJSZWZsZWN0aW9uUmVxdWVzdBIMCgRob3N0GAEgASgJEioKEGZpbGVfYnlfZmlsZW5hbWUYAyABKAlIAFIOZmlsZUJ5RmlsZW5hbWUSNgoWZmlsZV9jb250YWluaW5nX3N5bWJvbBgEIAEoCUgAUhRmaWxlQ29udGFpbmluZ1N5bWJvbBJiChlmaWxlX2NvbnRhaW5pbmdfZXh0ZW5zaW9uGAUgASgLMiQuZ3JwYy5yZWZsZWN0aW9uLnYxLkV4dGVuc2lvblJlcXVlc3RIAFIXZmlsZUNvbnRhaW5pbmdFeHRlbnNpb24SQgodYWxsX2V4dGVuc2lvbl9udW1iZXJzX29mX3R5cGUYBiABKAlIAFIZYWxsRXh0ZW5zaW9uTnVtYmVyc09mVHlwZRIlCg1saXN0X3NlcnZpY2VzGAcgASgJSABSDGxpc3RTZXJ2aWNlc0IQCg5tZXNzYWdlUmVxdWVzdCJmChBFeHRlbnNpb25SZXF1ZXN0EicKD2NvbnRhaW5pbmdfdHlwZRgBIAEoCVIOY29udGFpbmluZ1R5cGUSKQoQZXh0ZW5zaW9uX251bWJlchgCIAEoBVIPZXh0ZW5zaW9uTnVtYmVyIq0EChhTZXJ2ZXJSZWZsZWN0aW9uUmVzcG9uc2USHQoKdmFsaWRfaG9zdBgBIAEoCVIJdmFsaWRIb3N0ElYKEG9yaWdpbmFsX3JlcXVlc3QYAiABKAsyKy5ncnBjLnJlZmxlY3Rpb24udjEuU2VydmVyUmVmbGVjdGlvblJlcXVlc3RSD29yaWdpbmFsUmVxdWVzdBJmChhmaWxlX2Rlc2NyaXB0b3JfcmVzcG9uc2UYBCABKAsyKi5ncnBjLnJlZmxlY3Rpb24udjEuRmlsZURlc2NyaXB0b3JSZXNwb25zZUgAUhZmaWxlRGVzY3JpcHRvclJlc3BvbnNlEnIKHmFsbF9leHRlbnNpb25fbnVtYmVyc19yZXNwb25zZRgFIAEoCzIrLmdycGMucmVmbGVjdGlvbi52MS5FeHRlbnNpb25OdW1iZXJSZXNwb25zZUgAUhthbGxFeHRlbnNpb25OdW1iZXJzUmVzcG9uc2USXwoWbGlzdF9zZXJ2aWNlc19yZXNwb25zZRgGIAEoCzInLmdycGMucmVmbGVjdGlvbi52MS5MaXN0U2VydmljZVJlc3BvbnNlSABSFGxpc3RTZXJ2aWNlc1Jlc3BvbnNlEkoKDmVycm9yX3Jlc3BvbnNlGAcgASgLMiEuZ3JwYy5yZWZsZWN0aW9uLnYxLkVycm9yUmVzcG9uc2VIAFINZXJyb3JSZXNwb25zZUIRCg9tZXNzYWdlUmVzcG9uc2UiTAoWRmlsZURlc2NyaXB0b3JSZXNwb25zZRIyChVmaWxlX2Rlc2NyaXB0b3JfcHJvdG8YASADKAxSE2ZpbGVEZXNjcmlwdG9yUHJvdG8iagoXRXh0ZW5zaW9uTnVtYmVyUmVzcG9uc2USJAoOYmFzZV90eXBlX25hbWUYASABKAlSDGJhc2VUeXBlTmFtZRIpChBleHRlbnNpb25fbnVtYmVyGAIgAygFUg9leHRlbnNpb25OdW1iZXIiSwoTTGlzdFNlcnZpY2VSZXNwb25zZRI0CgdzZXJ2aWNlGAEgAygLMiMuZ3JwYy5yZWZsZWN0aW9uLnYxLlNlcnZpY2VSZXNwb25zZSIfCg9TZXJ2aWNlUmVzcG9uc2USDAoEbmFtZRgBIAEoCSJTCg1FcnJvclJlc3BvbnNlEh0KCmVycm9yX2NvZGUYASABKAVSCWVycm9yQ29kZRIjCg1lcnJvcl9tZXNzYWdlGAIgASgJUgxlcnJvck1lc3NhZ2UyiQEKEFNlcnZlclJlZmxlY3Rpb24SdQoUU2VydmVyUmVmbGVjdGlvbkluZm8SKy5ncnBjLnJlZmxlY3Rpb24udjEuU2VydmVyUmVmbGVjdGlvblJlcXVlc3QaLC5ncnBjLnJlZmxlY3Rpb24udjEuU2VydmVyUmVmbGVjdGlvblJlc3BvbnNlKAEwAWIGcHJvdG8z",
  },
  {
    name: "grpc/reflection/v1alpha/reflection.proto",
    imports: [],
    symbols: [
      "grpc.reflection.v1alpha.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo",
      "grpc.reflection.v1alpha.ServerReflectionRequest",
      "grpc.reflection.v1alpha.ExtensionRequest",
      "grpc.reflection.v1alpha.ServerReflectionResponse",
      "grpc.reflection.v1alpha.FileDescriptorResponse",
      "grpc.reflection.v1alpha.ExtensionNumberResponse",
      "grpc.reflection.v1alpha.ListServiceResponse",
      "grpc.reflection.v1alpha.ServiceResponse",
      "grpc.reflection.v1alpha.ErrorResponse",
    ],
    base64:
      "CihncnBjL3JlZmxlY3Rpb24vdjFhbHBoYS9yZWZsZWN0aW9uLnByb3RvEhdncnBjLnJlZmxlY3Rpb24udjFhbHBoYSLxAgoXU2VydmVyUmVmbGVjdGlvblJlcXVlc3QSDAoEaG9zdBgBIAEoCRIqChBmaWxlX2J5X2ZpbGVuYW1lGAMgASgJSABSDmZpbGVCeUZpbGVuYW1lEjYKFmZpbGVfY29udGFpbmluZ19zeW1ib2wYBCABKAlIAFIUZmlsZUNvbnRhaW5pbmdTeW1ib2wSZwoZZmlsZV9jb250YWluaW5nX2V4dGVuc2lvbhgFIAEoCzIpLmdycGMucmVmbGVjdGlvbi52MWFscGhhLkV4dGVuc2lvblJlcXVlc3RIAFIXZmlsZUNvbnRhaW5pbmdFeHRlbnNpb24SQgodYWxsX2V4dGVuc2lvbl9udW1iZXJzX29mX3R5cGUYBiABKAlIAFIZYWxsRXh0ZW5zaW9uTnVtYmVyc09mVHlwZRIlCg1saXN0X3NlcnZpY2VzGAcgASgJSABSDGxpc3RTZXJ2aWNlc0IQCg5tZXNzYWdlUmVxdWVzdCJmChBFeHRlbnNpb25SZXF1ZXN0EicKD2NvbnRhaW5pbmdfdHlwZRgBIAEoCVIOY29udGFpbmluZ1R5cGUSKQoQZXh0ZW5zaW9uX251bWJlchgCIAEoBVIPZXh0ZW5zaW9uTnVtYmVyIsYEChhTZXJ2ZXJSZWZsZWN0aW9uUmVzcG9uc2USHQoKdmFsaWRfaG9zdBgBIAEoCVIJdmFsaWRIb3N0ElsKEG9yaWdpbmFsX3JlcXVlc3QYAiABKAsyMC5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5TZXJ2ZXJSZWZsZWN0aW9uUmVxdWVzdFIPb3JpZ2luYWxSZXF1ZXN0EmsKGGZpbGVfZGVzY3JpcHRvcl9yZXNwb25zZRgEIAEoCzIvLmdycGMucmVmbGVjdGlvbi52MWFscGhhLkZpbGVEZXNjcmlwdG9yUmVzcG9uc2VIAFIWZmlsZURlc2NyaXB0b3JSZXNwb25zZRJ3Ch5hbGxfZXh0ZW5zaW9uX251bWJlcnNfcmVzcG9uc2UYBSABKAsyMC5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5FeHRlbnNpb25OdW1iZXJSZXNwb25zZUgAUhthbGxFeHRlbnNpb25OdW1iZXJzUmVzcG9uc2USZAoWbGlzdF9zZXJ2aWNlc19yZXNwb25zZRgGIAEoCzIsLmdycGMucmVmbGVjdGlvbi52MWFscGhhLkxpc3RTZXJ2aWNlUmVzcG9uc2VIAFIUbGlzdFNlcnZpY2VzUmVzcG9uc2USTwoOZXJyb3JfcmVzcG9uc2UYByABKAsyJi5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5FcnJvclJlc3BvbnNlSABSDWVycm9yUmVzcG9uc2VCEQoPbWVzc2FnZVJlc3BvbnNlIkwKFkZpbGVEZXNjcmlwdG9yUmVzcG9uc2USMgoVZmlsZV9kZXNjcmlwdG9yX3Byb3RvGAEgAygMUhNmaWxlRGVzY3JpcHRvclByb3RvImoKF0V4dGVuc2lvbk51bWJlclJlc3BvbnNlEiQKDmJhc2VfdHlwZV9uYW1lGAEgASgJUgxiYXNlVHlwZU5hbWUSKQoQZXh0ZW5zaW9uX251bWJlchgCIAMoBVIPZXh0ZW5zaW9uTnVtYmVyIlAKE0xpc3RTZXJ2aWNlUmVzcG9uc2USOQoHc2VydmljZRgBIAMoCzIoLmdycGMucmVmbGVjdGlvbi52MWFscGhhLlNlcnZpY2VSZXNwb25zZSIfCg9TZXJ2aWNlUmVzcG9uc2USDAoEbmFtZRgBIAEoCSJTCg1FcnJvclJlc3BvbnNlEh0KCmVycm9yX2NvZGUYASABKAVSCWVycm9yQ29kZRIjCg1lcnJvcl9tZXNzYWdlGAIgASgJUgxlcnJvck1lc3NhZ2UykwEKEFNlcnZlclJlZmxlY3Rpb24SfwoUU2VydmVyUmVmbGVjdGlvbkluZm8SMC5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5TZXJ2ZXJSZWZsZWN0aW9uUmVxdWVzdBoxLmdycGMucmVmbGVjdGlvbi52MWFscGhhLlNlcnZlclJlZmxlY3Rpb25SZXNwb25zZSgBMAFiBnByb3RvMw==",
  },
]
