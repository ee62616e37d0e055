// SPDX-License-Identifier: Apache-2.0

package topologies

import (
	"embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

//go:embed testdata
var sources embed.FS

// Programs are the commands of the stages, by language.
type Programs map[string][]string

// NewPrograms compiles the stages into a directory. The interpreter is python, or if that is a script, as pyenv's, what
// it starts.
func NewPrograms(dir, python string) (Programs, error) {
	text := func(name string) string {
		b, _ := sources.ReadFile("testdata/" + name)
		return string(b)
	}
	executable, err := bounded.Output(exec.Command(python, "-c", "import sys; print(sys.executable)"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", python, err)
	}
	script := filepath.Join(dir, "stage.py")
	if err := os.WriteFile(script, []byte(text("stage.py")), 0o644); err != nil {
		return nil, err
	}
	out := Programs{"python": {strings.TrimSpace(string(executable)), script}}
	for language, command := range map[string][]string{
		"c":  {"gcc", "-O1", "-pthread", "-fno-plt", "-o", "OUT", "stage.c"}, // else a call's stub can be innermost
		"go": {"go", "build", "-o", "OUT", "stage.go"},
	} {
		name := "stage-" + language
		source := command[len(command)-1]
		program, err := testtargets.Compiled{Name: name, Texts: map[string]string{source: text(source)},
			Command: command}.Content()
		if err != nil {
			return nil, err
		}
		out[language] = []string{filepath.Join(dir, name)}
		if err := testtargets.WriteExecutable(out[language][0], program); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Start starts the processes by a function, and returns their pids in order, with an error those of the processes that
// it has started. The process i writes its phases to the file i of a directory.
func (s *Service) Start(programs Programs, dir string, start func(*exec.Cmd) error) (pids []int, err error) {
	commands, err := s.commands(programs, dir)
	for _, cmd := range commands {
		if err == nil {
			if err = start(cmd); err == nil {
				pids = append(pids, cmd.Process.Pid)
			}
		}
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}
	}
	return pids, err
}

func (s *Service) commands(programs Programs, dir string) (list []*exec.Cmd, err error) {
	before := make([][2]*os.File, len(s.Phases)) // ends of the links to the one before
	after := make([][2]*os.File, len(s.Phases))
	for i, kind := range s.Links {
		ends, err := linked(kind)
		after[i], before[i+1] = ends[0], ends[1]
		if err != nil {
			closeAll(before, after)
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
	}
	for i := range s.Phases {
		args := append(slices.Clone(programs[s.Languages[i]]), filepath.Join(dir, fmt.Sprint(i)))
		var files []*os.File
		for _, f := range append(before[i][:], after[i][:]...) {
			if f == nil {
				args = append(args, "-1")
				continue
			}
			files = append(files, f)
			args = append(args, fmt.Sprint(2+len(files)))
		}
		if s.Mutex[i] {
			args = append(args, "mutex")
		}
		cmd := exec.Command(args[0], append(args[1:], s.Phases[i]...)...)
		cmd.ExtraFiles = files
		list = append(list, cmd)
	}
	return list, nil
}

func closeAll(links ...[][2]*os.File) {
	for _, ends := range slices.Concat(links...) {
		for _, f := range ends {
			f.Close() // nil, too
		}
	}
}

// linked returns the descriptors of two ends: for reading and for writing. With an error, those that it has made.
func linked(kind string) (ends [2][2]*os.File, err error) {
	switch kind {
	case "pipe":
		for i := range 2 {
			r, w, err := os.Pipe()
			if err != nil {
				return ends, err
			}
			ends[i][0], ends[1-i][1] = r, w
		}
		return ends, nil
	case "unix":
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return ends, err
		}
		for i, fd := range fds {
			f := os.NewFile(uintptr(fd), "unix")
			ends[i] = [2]*os.File{f, f}
		}
		return ends, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return ends, err
	}
	defer l.Close()
	for i, connect := range []func() (net.Conn, error){func() (net.Conn, error) {
		return net.Dial("tcp", l.Addr().String())
	}, l.Accept} {
		c, err := connect()
		if err != nil {
			return ends, err
		}
		defer c.Close()
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			return ends, err
		}
		f.Fd() // blocks from now on
		ends[i] = [2]*os.File{f, f}
	}
	return ends, nil
}
