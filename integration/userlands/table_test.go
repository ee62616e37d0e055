// SPDX-License-Identifier: Apache-2.0

package userlands

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// update writes the rows of the table whose tests have passed.
const update = "USERLANDS_UPDATE"

const page = "../../docs/limits.md"

// checkRow looks for a row in the page, or replaces the one that begins as it does.
func checkRow(t *testing.T, row string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("\n"+row)) {
		return
	}
	name, _, _ := strings.Cut(row[2:], " |")
	before, after, found := strings.Cut(string(text), "\n| "+name+" |")
	if os.Getenv(update) == "" || !found {
		t.Errorf("%s does not have this row (USERLANDS_UPDATE=1 make test-userlands writes it):\n%s", page, row)
		return
	}
	_, after, _ = strings.Cut(after, "\n")
	if err := os.WriteFile(page, []byte(before+"\n"+row+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
