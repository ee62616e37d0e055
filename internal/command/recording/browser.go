// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"prywalk/internal/command/console"
	"prywalk/internal/host/launch"
)

const opener = "xdg-open"

// CheckBrowser fails if no browser can be opened. Root opens none: the session is another user's.
func CheckBrowser() error {
	switch _, err := exec.LookPath(opener); {
	case isRoot():
		return nil
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return errors.New("no browser can be opened: neither DISPLAY nor WAYLAND_DISPLAY is set")
	case err != nil:
		return errors.New("no browser can be opened: " + opener + " is not installed")
	}
	return nil
}

func isRoot() bool { return os.Geteuid() == 0 || os.Geteuid() != os.Getuid() }

// openPage opens a page in the user's browser, as root it says where the page is. The opener reports its own failure.
func openPage(page string) {
	path, err := filepath.Abs(page)
	if err != nil {
		path = page
	}
	if isRoot() {
		console.Infof("root opens no browser; as the user of the desktop: %s %s", opener, path)
		return
	}
	cmd := exec.Command(opener, path)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C in this terminal does not end the browser
	launch.OnForker(func() { err = cmd.Start() })        // its timer slack is the caller's
	if err != nil {
		console.Errorf("--open: %v; open %s in a browser", err, path)
		return
	}
	_ = cmd.Process.Release()
}
