// SPDX-License-Identifier: Apache-2.0

package loadedcode

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

// # Name of the program
//
// A program may be a link: awk to gawk, commands of busybox. The name passed to execve (AT_EXECFN, fs/binfmt_elf.c) is
// displayed if it leads to the same file, unless the file's name only says more (python3.11 for python3).

// atExecFn is AT_EXECFN (include/uapi/linux/auxvec.h).
const atExecFn = 31

const (
	maxExecFn = 4096 // bytes
	maxAuxv   = 4096 // bytes
)

// DisplayName returns the path by which the program was started, else the module's file.
func DisplayName(m *frames.Module) string {
	if at := MappingOf(m); at != nil && at.StartedAs != "" {
		return at.StartedAs
	}
	return m.Name
}

func (p *Process) nameProgram() {
	if !slices.ContainsFunc(p.code, func(c codeMapping) bool { return c.mod == nil && c.at.Inode != 0 }) {
		return
	}
	exe, err := os.Readlink(process.Path(p.MemoryTID(), "exe"))
	if err != nil {
		return
	}
	exe = strings.TrimSuffix(exe, " (deleted)")
	name, examined := "", false
	for i := range p.code {
		c := &p.code[i]
		if c.at.Inode == 0 || c.at.Path != exe {
			continue
		}
		if c.mod != nil {
			name, examined = c.at.StartedAs, true
			continue
		}
		if !examined {
			name, examined = p.startedAs(c.at), true
		}
		c.at.StartedAs = name
	}
}

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
	f, err := p.files.opener.Open(p.files.requestInRoot(name))
	if err != nil {
		return ""
	}
	same := p.isFileOf(f, at)
	if _ = f.Close(); !same {
		return ""
	}
	return name
}

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

func auxEntry(vector []byte, kind uint64) uint64 {
	for ; len(vector) >= 16; vector = vector[16:] {
		if k := binary.LittleEndian.Uint64(vector); k == kind {
			return binary.LittleEndian.Uint64(vector[8:])
		}
	}
	return 0
}
