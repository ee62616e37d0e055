// SPDX-License-Identifier: Apache-2.0

package sourcelines

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"prywalk/internal/host/safeopen"
	"prywalk/internal/testtargets"
)

func TestTheRecordedPathIsReadWhereTheFileIsTheUsersOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.c")
	if err := os.WriteFile(path, []byte("int main;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if lines, err := (&Files{Own: true}).Read(path); err != nil || len(lines) == 0 || lines[0] != "int main;" {
		t.Errorf("%q, %v", lines, err)
	}
	if lines, err := (&Files{Own: true, Dir: t.TempDir()}).Read(path); err != nil || len(lines) == 0 {
		t.Errorf("what is not below the directory: %q, %v", lines, err)
	}
	for name, f := range map[string]*Files{"not asked for": {}, "another directory": {Dir: t.TempDir()}} {
		if lines, err := f.Read(path); err == nil {
			t.Errorf("%s: %q", name, lines)
		}
	}
	if lines, err := (&Files{Own: true}).Read("own.c"); err == nil {
		t.Errorf("a relative path: %q", lines)
	}
	if lines, err := (&Files{Own: true}).Read("/dev/zero"); err == nil {
		t.Errorf("a device: %d lines", len(lines))
	}
}

func TestTheErrorIsThatOfTheFileThatExists(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "src", "large.c")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxBytes+1); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*Files{"below": {Dir: dir}, "below, own missing": {Dir: dir, Own: true}} {
		if _, err := f.Read("/build/src/large.c"); !errors.Is(err, safeopen.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&Files{Own: true, Dir: t.TempDir()}).Read(path); !errors.Is(err, safeopen.ErrTooLarge) {
		t.Errorf("own: %v", err)
	}
	if _, err := (&Files{Dir: dir}).Read("src/large.c/none.c"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("below a file: %v", err)
	}
}

// A profile may name any file.
func TestAnotherUsersFileIsNotShown(t *testing.T) {
	testtargets.NeedRoot(t, "give a file to another user")
	path := filepath.Join(t.TempDir(), "theirs.c")
	if err := os.WriteFile(path, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if lines, err := (&Files{Own: true}).Read(path); !errors.Is(err, errNotOwn) {
		t.Errorf("%q, %v", lines, err)
	}
}
