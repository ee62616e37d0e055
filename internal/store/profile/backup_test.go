// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
)

func recorded(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("\x1f\x8b"+text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if want, ok := want[e.Name()]; err != nil || !ok || string(text) != want {
			t.Errorf("%s holds %q, %v; %q is wanted", e.Name(), text, err, want)
		}
	}
	if len(list) != len(want) {
		t.Errorf("there are %d files, %d are wanted", len(list), len(want))
	}
}

func TestTheLastRecordingIsKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r")
	for _, step := range []struct {
		put  string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"1", map[string]string{"r": "\x1f\x8b1", "r.old": "\x1f\x8b1"}},
		{"", map[string]string{"r": "\x1f\x8b1", "r.old": "\x1f\x8b1"}},
		{"2", map[string]string{"r": "\x1f\x8b2", "r.old": "\x1f\x8b2"}},
	} {
		if step.put != "" {
			recorded(t, path+".new", step.put)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}
		if err := BackUpOld(path); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, step.want)
	}
	write := func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }
	if err := WriteFileAtomic(path, write); err == nil || !strings.Contains(err.Error(), "it is a recording") {
		t.Errorf("a page in place of a recording: %v", err)
	}
	holds(t, dir, map[string]string{"r": "\x1f\x8b2", "r.old": "\x1f\x8b2"})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := WriteFileAtomic(path, write); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"r": "new", "r.old": "\x1f\x8b2"})
}

func TestAProfileForTheCompilerReplacesNoRecording(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.pb.gz")
	b := NewBuilder(Meta{})
	if err := b.WriteFile(path, nil); err != nil {
		t.Fatal(err)
	}
	types := []*pprof.ValueType{{Type: TypeSamples, Unit: "count"}, {Type: TypeCPU, Unit: Nanoseconds}}
	pgo := &pprof.Profile{SampleType: types}
	recording, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	uncompressed := filepath.Join(dir, "r.pb")
	if err := WriteFileAtomic(uncompressed, recording.WriteUncompressed); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, uncompressed} {
		if err := WritePGO(path, pgo.Write); err == nil {
			t.Errorf("%s was replaced", path)
		}
	}
	for range 2 {
		if err := WritePGO(filepath.Join(dir, "default.pgo"), pgo.Write); err != nil {
			t.Error(err)
		}
	}
}

func TestAFileForStandardOutputReadsNoInput(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, "-", "a file of that name")
	in, err := os.Open("-")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	defer func(in, out *os.File) { os.Stdin, os.Stdout = in, out }(os.Stdin, os.Stdout)
	os.Stdin, os.Stdout = in, null
	write := func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }
	for name, file := range map[string]func(string, func(io.Writer) error) error{
		"WritePGO": WritePGO, "WriteFileAtomic": WriteFileAtomic,
	} {
		if err := file("-", write); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if at, err := in.Seek(0, io.SeekCurrent); at != 0 || err != nil {
		t.Errorf("%d bytes of standard input are read, %v", at, err)
	}
}

func TestARecordingWithoutSamplesIsNotKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r")
	recorded(t, path+oldSuffix, "good")
	if err := NewBuilder(Meta{}).WriteFile(path, nil); err != nil {
		t.Fatal(err)
	}
	if err := BackUpOld(path); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path + oldSuffix); err != nil || string(text) != "\x1f\x8bgood" {
		t.Errorf("%q, %v is kept", text, err)
	}
}

func TestOnlyRecordingsAreKept(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "r"), filepath.Join(dir, "other")
	want := map[string]string{"r": "text"}
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := BackUpOld(path); err != nil {
		t.Error(err)
	}
	holds(t, dir, want)
	recorded(t, other, "")
	if err := os.WriteFile(other+".old", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := BackUpOld(other); err == nil {
		t.Error("a file that is no recording would have been replaced")
	}
	for path, want := range map[string]bool{path: true, other: false, filepath.Join(dir, "none"): true, "-": true} {
		if err := CheckOld(path); err == nil != want {
			t.Errorf("check of %s: %v", path, err)
		}
	}
	holds(t, dir, map[string]string{"r": "text", "other": "\x1f\x8b", "other.old": "mine"})
}

// As by perf record, the link becomes path.old.
func TestALinkToARecordingIsKept(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "r"), filepath.Join(dir, "disk")
	if err := os.Symlink("disk", path); err != nil {
		t.Fatal(err)
	}
	write := func(text string) error {
		return writeFile(path, "", func(w io.Writer) error { _, err := io.WriteString(w, "\x1f\x8b"+text); return err })
	}
	for _, step := range []struct {
		text string
		want map[string]string
	}{
		{"1", map[string]string{"r": "\x1f\x8b1", "disk": "\x1f\x8b1"}},
		{"2", map[string]string{"r": "\x1f\x8b2", "r.old": "\x1f\x8b1", "disk": "\x1f\x8b1"}},
		{"3", map[string]string{"r": "\x1f\x8b3", "r.old": "\x1f\x8b2", "disk": "\x1f\x8b1"}},
	} {
		if err := BackUpOld(path); err != nil {
			t.Error(err)
		}
		if err := write(step.text); err != nil {
			t.Error(err)
		}
		holds(t, dir, step.want)
	}
	page := filepath.Join(dir, "page")
	if err := os.Symlink(target, page); err != nil {
		t.Fatal(err)
	}
	if err := WriteFileAtomic(page, func(io.Writer) error { return nil }); err == nil {
		t.Error("a page replaced the recording that a link leads to")
	}
}
