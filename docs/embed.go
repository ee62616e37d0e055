// Package docs has the pages that "prywalk help TOPIC" prints. Its tests run the commands of all pages.
package docs

import "embed"

// Topics has the pages on what the kernel must allow, what prywalk cannot do, and the formats of its files.
//
//go:embed rights.md limits.md recording-file.md
var Topics embed.FS
