// SPDX-License-Identifier: Apache-2.0

package code

import (
	"bytes"
	"encoding/binary"
	"os"
	"path"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
)

// # The name by which a program is known
//
// Many programs are links to files of other names: redis-server to redis-check-rdb, dot to libgvc6-config-update, awk
// to gawk, a busybox's commands to busybox. The list of mappings has the file's name. The kernel keeps the name that
// execve was called with (AT_EXECFN in the auxiliary vector, fs/binfmt_elf.c). It is taken if it leads to the same
// file: of a script, it is the script. The file's name is kept where it says more, as python3.11 does of python3.

// atExecFn is the entry of the auxiliary vector for that name (include/uapi/linux/auxvec.h).
const atExecFn = 31

// maxExecFn bounds the name, and maxAuxv the auxiliary vector, in bytes.
const (
	maxExecFn = 4096
	maxAuxv   = 4096
)

// NameOf is the name under which a module is shown: the path by which the program was started, else the file's path.
func NameOf(m *frames.Module) string {
	if at := MappingOf(m); at != nil && at.StartedAs != "" {
		return at.StartedAs
	}
	return m.Name
}

// nameProgram gives new mappings of the program's own file the path by which it was started.
func (p *Process) nameProgram() {
	if !slices.ContainsFunc(p.code, func(c mapped) bool { return c.mod == nil && c.at.Inode != 0 }) {
		return
	}
	exe, err := os.Readlink(process.Path(p.MemoryTID(), "exe"))
	if err != nil {
		return
	}
	exe = strings.TrimSuffix(exe, " (deleted)")
	name, looked := "", false
	for i := range p.code {
		c := &p.code[i]
		if c.at.Inode == 0 || c.at.Path != exe {
			continue
		}
		if c.mod != nil {
			name, looked = c.at.StartedAs, true
			continue
		}
		if !looked {
			name, looked = p.startedAs(c.at), true
		}
		c.at.StartedAs = name
	}
}

// startedAs gives the path by which a program's file was started, "" if it has the file's own name.
func (p *Process) startedAs(at *Mapping) string {
	name := p.execFn()
	if name == "" || strings.HasPrefix(path.Base(at.Path), path.Base(name)) {
		return ""
	}
	if !path.IsAbs(name) {
		dir, err := os.Readlink(process.Path(p.MemoryTID(), "cwd"))
		if err != nil {
			return ""
		}
		name = path.Join(dir, name)
	}
	f, err := p.files.opener.Open(p.files.inRoot(name))
	if err != nil || !p.accept(f, at) {
		return ""
	}
	_ = f.Close() // it was not even read
	return name
}

// execFn reads the name that execve was called with, "" if it cannot.
func (p *Process) execFn() string {
	vector, err := procmem.ReadSmall(process.Path(p.MemoryTID(), "auxv"), make([]byte, maxAuxv))
	if err != nil {
		return ""
	}
	var name [maxExecFn]byte
	n, _ := p.ReadMem(auxEntry(vector, atExecFn), name[:])
	text, _, ended := bytes.Cut(name[:n], []byte{0})
	if !ended {
		return ""
	}
	return string(text)
}

// auxEntry gives the value of an entry of the auxiliary vector, 0 if it has none.
func auxEntry(vector []byte, kind uint64) uint64 {
	for ; len(vector) >= 16; vector = vector[16:] {
		if k := binary.LittleEndian.Uint64(vector); k == kind {
			return binary.LittleEndian.Uint64(vector[8:])
		}
	}
	return 0
}
