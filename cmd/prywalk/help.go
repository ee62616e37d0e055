// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"strings"

	"prywalk/internal/base/exit"
)

//go:embed help/*.txt
var helpPages embed.FS

// helpPage returns a command's help, with the meaning of each exit code that the page names as {CODE}.
func helpPage(command string) string {
	text, err := helpPages.ReadFile("help/" + command + ".txt")
	if err != nil {
		panic(err) // the page is part of the program
	}
	_, page, _ := strings.Cut(string(text), "\n") // the licence
	for code := exit.OK; code <= exit.NoSamples; code++ {
		page = strings.ReplaceAll(page, fmt.Sprintf("{%d}", code), exit.Meanings(code))
	}
	return strings.TrimRight(page, "\n")
}
