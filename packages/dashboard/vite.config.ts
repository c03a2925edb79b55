import { defineConfig } from "vite"

export default defineConfig({
  // The page uses relative addresses, so that a proxy can serve it under any path.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    // The content security policy of the page allows no data: addresses.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The licences of bundled packages require that their text is distributed with them.
    license: { fileName: "licenses.txt" },
  },
})
