// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"prywalk/internal/command/console"
)

const opener = "xdg-open"

// openerTime is how long a failure of the opener is awaited; a browser that it starts may run on.
const openerTime = 3 * time.Second

// CheckBrowser fails if no browser can be opened. Root opens none: the session is another user's.
func CheckBrowser() error {
	if isRoot() {
		return nil
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return errors.New("no browser can be opened: neither DISPLAY nor WAYLAND_DISPLAY is set")
	}
	if _, err := exec.LookPath(opener); err != nil {
		return errors.New("no browser can be opened: " + opener + " is not installed")
	}
	return nil
}

func isRoot() bool { return os.Geteuid() == 0 || os.Geteuid() != os.Getuid() }

// openPage opens a page in the user's browser, as root it says where the page is.
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C in this terminal does not end the browser
	if err := cmd.Start(); err != nil {
		console.Errorf("--open: %v; open %s in a browser", err, path)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			console.Errorf("--open: %s failed: %v; open %s in a browser", opener, err, path)
		}
	case <-time.After(openerTime):
	}
}
