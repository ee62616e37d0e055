// SPDX-License-Identifier: Apache-2.0

// Package docs has the pages that "prywalk help TOPIC" prints, and the schemas of "prywalk schema". Its tests run the
// commands of all pages.
package docs

import "embed"

// Topics has the pages that "prywalk help" lists.
//
//go:embed rights.md names.md waiting.md noticed.md errors.md limits.md recording.md
var Topics embed.FS

// Schemas has a JSON Schema for each output, as schema/NAME.json.
//
//go:embed schema/*.json
var Schemas embed.FS
