// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"prywalk/benchmarks/markdown"
)

const sectionName = "ladder"

func putPart(path, title, text string) error {
	return markdown.ReplaceSection(path, sectionName, func(old string) string { return replacePart(old, title, text) })
}

func replacePart(section, title, text string) string {
	known := map[string]string{}
	for piece := range strings.SplitSeq("\n"+section, "\n### ") {
		if name, _, ok := strings.Cut(piece, "\n"); ok {
			known[name] = "### " + strings.TrimSpace(piece) + "\n"
		}
	}
	known[title] = strings.TrimSpace(text) + "\n"
	var b strings.Builder
	for _, p := range parts {
		if known[p.title] != "" {
			b.WriteString("\n" + known[p.title])
		}
	}
	return b.String() + "\n"
}
