package process

import (
	"bytes"
	"os"
	"path"
	"strings"
)

// firstArgument bounds what is read of a command line, in bytes.
const firstArgument = 4096

// StartedByLink reports whether the program was started through a link, as Debian's dot is one to
// libgvc6-config-update: its process and its first argument have one name, and its file has another. A script's process
// has the script's name, and its first argument is the interpreter.
func (p *Process) StartedByLink() bool {
	exe, err := p.Exe()
	if err != nil {
		return false
	}
	f, err := os.Open(procFS.path(p.tid, "cmdline"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
	b := make([]byte, firstArgument)
	n, _ := f.Read(b) // of a kernel thread nothing
	arg, _, whole := bytes.Cut(b[:n], []byte{0})
	name := path.Base(string(arg))
	return whole && name == p.Comm && name != path.Base(strings.TrimSuffix(exe, " (deleted)"))
}
