// SPDX-License-Identifier: Apache-2.0

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// UseColor reports whether f shows colours, and no-color.org allows them.
func UseColor(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && !isDumb() && IsTerminal(f)
}

// isDumb reports a terminal without control sequences.
func isDumb() bool { return os.Getenv("TERM") == "dumb" }

// Width returns f's width in columns; 0: no terminal.
func Width(f *os.File) int {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Col)
}
