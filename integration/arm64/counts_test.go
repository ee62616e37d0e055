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
)

const baseline = "testdata/baseline_arm64.json"

func (b *builder) putBaseline() {
	b.t.Helper()
	from := filepath.Join(root, "benchmarks/counts", baseline)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return
	}
	b.put("tests/"+baseline, from)
}

func (c *console) keepBaseline(t *testing.T) {
	t.Helper()
	r := c.jobs["benchmarks-counts"]
	if r == nil {
		t.Fatal("the job of the counts did not begin")
	}
	text := regexp.MustCompile(`(?s)` + regexp.QuoteMeta(baseline) +
		`\n(\{\n.*?\n\}\n)`).FindStringSubmatch(strings.Join(r.output, "\n") + "\n")
	if text == nil {
		t.Fatal("no counts in the output of the job")
	}
	if err := os.WriteFile(filepath.Join(root, "benchmarks/counts", baseline), []byte(text[1]), 0o644); err != nil {
		t.Fatal(err)
	}
}
