// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"os"
	"path/filepath"
	"testing"

	"prywalk/benchmarks/bench/tools"
)

func written(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestToolsKnowWhatTheyAreFor(t *testing.T) {
	own := tools.Prywalk()
	for _, kind := range []string{tools.Native, tools.Python, tools.JVM} {
		n := 0
		for _, p := range All() {
			if p.Name == "" {
				t.Error("a peer without a name")
			}
			if p.For(kind) {
				n++
			}
		}
		if n == 0 || !own.For(kind) {
			t.Errorf("%s: %d peers", kind, n)
		}
	}
}
