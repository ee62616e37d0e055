// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

func TestOnlyTestsHaveFilesThatAreNoText(t *testing.T) {
	root := filepath.Join("..", "..")
	out, err := bounded.Output(exec.Command("git", "-C", root, "ls-files"))
	if err != nil {
		t.Skipf("needs a checkout: git clone (%v)", err)
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if strings.Contains(name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			t.Errorf("%s is no text, and in no testdata directory", name)
		}
	}
}
