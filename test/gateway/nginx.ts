import { type ProxyProcess, startProxy } from "../service/proxy.js"
import { toolPath } from "../support/tool.js"
import { afterThis } from "./bed.js"

/** nginx with this inside its `server`, on a port and in a folder of its own, until the test is over. */
export async function openNginx(
  server: string,
  { http = "", files = {} }: { readonly http?: string; readonly files?: Record<string, string> } = {},
): Promise<ProxyProcess> {
  const nginx = await startProxy(
    toolPath("nginx"),
    (room, port) => ({
      ...files,
      "nginx.conf": `
daemon off;
master_process off;
pid ${room}/nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${room}/${name};`).join("\n  ")}
  ${http}
  server {
    listen 127.0.0.1:${port};
    root ${room};
    ${server}
  }
}
`,
    }),
    (room) => ["-p", room, "-c", `${room}/nginx.conf`, "-e", "stderr"],
  )
  afterThis(() => nginx.stop())
  return nginx
}
