// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesComeFromTheTableThatSymbolsLinkTo(t *testing.T) {
	gcc, objcopy := need(t, "gcc"), need(t, "objcopy")
	dir := t.TempDir()
	write(t, dir, "label.c", `asm(".text\n.globl label\nlabel: ret\n"); int main(void) { return 0; }`)
	write(t, dir, "decoy", strings.Repeat("$x\x00", 4096))
	run(t, dir, gcc, "-o", "prog", "label.c")
	run(t, dir, objcopy, "--add-section", ".decoys=decoy", "prog")
	b, err := os.ReadFile(filepath.Join(dir, "prog"))
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte("\x00.strtab\x00"), []byte("\x00.linked\x00"), 1)
	b = bytes.Replace(b, []byte("\x00.decoys\x00"), []byte("\x00.strtab\x00"), 1)
	write(t, dir, "renamed", string(b))
	table := openTable(t, filepath.Join(dir, "renamed"))
	if table.from.File.Section(".strtab") == nil || table.from.File.Section(".linked") == nil {
		t.Fatal("the sections are not renamed")
	}
	for _, s := range table.symbols().syms {
		if table.syms.name(s.name) == "label" {
			return
		}
	}
	t.Error("label has no name, as the other section's is taken for it")
}
