// Asks a URL with GET, and with POST while it uploads 8 MB, over HTTP/2. Prints a line of JSON for each.
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"os"
)

func main() {
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}
	for _, method := range []string{"GET", "POST"} {
		var body io.Reader
		if method == "POST" {
			body = bytes.NewReader(make([]byte, 8_000_000))
		}
		said := map[string]any{"method": method}
		request, _ := http.NewRequest(method, os.Args[1], body)
		response, err := client.Do(request)
		if err == nil {
			var text []byte
			text, err = io.ReadAll(response.Body)
			said["version"] = response.Proto
			said["status"] = response.StatusCode
			said["body"] = string(text)
		}
		if err != nil {
			said["error"] = err.Error()
		}
		json.NewEncoder(os.Stdout).Encode(said)
	}
}
