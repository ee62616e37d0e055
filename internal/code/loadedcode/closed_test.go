// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"os"
	"testing"

	"prywalk/internal/host/safeopen"
)

func TestAClosedCacheLoadsNothing(t *testing.T) {
	c := NewImageCache(1)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var opener safeopen.Opener
	exe, err := opener.Open(safeopen.Request{Path: "/proc/self/exe", Kernel: true})
	if err != nil {
		t.Fatal(err)
	}
	if img, err := c.Load(exe, &Mapping{MapsLine: MapsLine{Path: exe.Name()}}); img != nil || err != nil {
		t.Errorf("Load after Close gives %v, %v; want no image", img, err)
	}
	if _, err := exe.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a read of the file after Load: %v, want %v", err, os.ErrClosed)
	}
	if len(c.files.open) != 0 {
		t.Errorf("%d files are open in a closed cache", len(c.files.open))
	}
}
