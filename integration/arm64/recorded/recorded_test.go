// SPDX-License-Identifier: Apache-2.0

package recorded

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func readCase(t testing.TB, dir string) *Case {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "case.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := Read(f)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return c
}

func TestRecordedStacksOfArm64(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*_aarch64")
	if err != nil || len(dirs) < 11 {
		t.Fatalf("%d recorded cases: %v", len(dirs), err)
	}
	for _, dir := range dirs {
		t.Run(strings.TrimSuffix(filepath.Base(dir), "_aarch64"), func(t *testing.T) {
			c := readCase(t, dir)
			w, err := NewWalker(c, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			got, stop, err := w.Walk()
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(c.Frames)
			for i := range want {
				want[i].Function = ""
			}
			if stop != c.Stop || !slices.Equal(got, want) {
				t.Errorf("%s: got %+v, stop reason %s\nwant %+v %s", c.About, got, stop, c.Frames, c.Stop)
			}
		})
	}
}

func TestCaseIsReadAsItWasWritten(t *testing.T) {
	c := &Case{About: "a case", Stop: "root", Frames: []Frame{{1, 2, "cfi", "f"}, {3, 0, "fp", "?"}},
		Files: []File{{CoreName, append(make([]byte, 100), 1, 2, 0, 3)}, {"/bin/x", []byte{0, 0, 0}}}}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := got.Write(&again); err != nil || again.String() != b.String() || len(got.Files[1].Data) != 3 {
		t.Errorf("the case changed by reading and writing: %v\n%s\n%s", err, b.String(), again.String())
	}
}

func TestInvalidCasesAreRefused(t *testing.T) {
	for _, text := range []string{"file x core", "file -1 core", "0 00", "file 2 core\n1 0000", "file 4 core\n0 0g",
		"frame x", "what"} {
		if c, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q was accepted: %+v", text, c)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("about x\nframe 0x1 0x2 cfi f\nstop root\nfile 40 core\n0 7f454c46\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file") && len(text) > 200 {
			return
		}
		c, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		total := 0
		for _, file := range c.Files {
			total += len(file.Data)
		}
		if total > 1<<20 {
			return
		}
		var b bytes.Buffer
		if err := c.Write(&b); err != nil {
			t.Fatal(err)
		}
	})
}
