// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prywalk/integration/machine"
)

const baseline = "testdata/baseline_arm64.json"

func putBaseline(b *machine.Builder) {
	b.T.Helper()
	from := filepath.Join(root, "benchmarks/counts", baseline)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return
	}
	b.Put("tests/"+baseline, from)
}

func keepBaseline(c *machine.Console, t *testing.T) {
	t.Helper()
	r := c.Jobs["benchmarks-counts"]
	if r == nil {
		t.Fatal("the job of the counts did not begin")
	}
	text := regexp.MustCompile(`(?s)` + regexp.QuoteMeta(baseline) +
		`\n(\{\n.*?\n\}\n)`).FindStringSubmatch(strings.Join(r.Output, "\n") + "\n")
	if text == nil {
		t.Fatal("no counts in the output of the job")
	}
	if err := os.WriteFile(filepath.Join(root, "benchmarks/counts", baseline), []byte(text[1]), 0o644); err != nil {
		t.Fatal(err)
	}
}
