// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

func TestABrowserNeedsADesktopAndAnOpener(t *testing.T) {
	if isRoot() {
		if err := CheckBrowser(); err != nil {
			t.Errorf("root opens none, and needs none: %v", err)
		}
	}
	testtargets.Need(t, !isRoot(), "a user other than root", "su -s /bin/sh nobody")
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	fails := func(with string) {
		t.Helper()
		if err := CheckBrowser(); err == nil || !strings.Contains(err.Error(), with) {
			t.Errorf("%v, want %q", err, with)
		}
	}
	fails("DISPLAY")
	t.Setenv("DISPLAY", ":0")
	fails("xdg-open is not installed")
	opened := filepath.Join(dir, "opened")
	if err := syscall.Mkfifo(opened, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(opened, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(time.Minute))
	script := "#!/bin/sh\necho \"$1\" > " + opened + "\n"
	if err := os.WriteFile(filepath.Join(dir, opener), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := CheckBrowser(); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "page.html")
	openPage(page)
	if got, err := bufio.NewReader(f).ReadString('\n'); err != nil || got != page+"\n" {
		t.Errorf("opened %q, %v", got, err)
	}
}
