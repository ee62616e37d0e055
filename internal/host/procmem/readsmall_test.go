// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/base/errs"
)

func TestReadSmallReadsTheBeginningOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("0-3,6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var buf [16]byte
	for _, c := range []struct {
		room int
		want string
	}{{16, "0-3,6\n"}, {3, "0-3"}} {
		if got, err := ReadSmall(path, buf[:c.room]); err != nil || string(got) != c.want {
			t.Errorf("buffer of %d bytes: %q, %v; want %q", c.room, got, err, c.want)
		}
	}
	if _, err := ReadSmall(os.DevNull, buf[:]); !errors.Is(err, errs.Exited) {
		t.Errorf("an empty file: %v, want %v", err, errs.Exited)
	}
	if _, err := ReadSmall(path+"s", buf[:]); !errors.Is(err, errs.Exited) {
		t.Errorf("a missing file: %v, want %v", err, errs.Exited)
	}
	if _, err := ReadSmall("/"+strings.Repeat("x", maxPath), buf[:]); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("a path that is too long: %v, want %v", err, syscall.ENAMETOOLONG)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = ReadSmall("/sys/devices/system/cpu/online", buf[:]) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
