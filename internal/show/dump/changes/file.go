// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
)

const remake = "make a dump with prywalk dump -p PID --json > FILE"

// ErrELF means that a file may be a core.
var ErrELF = errors.New("an ELF file; give one of dump --json")

// Read reads the dump of a process from a file of dump --json; with pid 0 that of the only one. The error is one of
// reading the file, [ErrELF], or says that the file is no dump, is of another version, lacks the process, or has
// several though pid is 0.
func Read(path string, pid int) (*stacks.Process, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, remake)
	}
	defer file.Close()
	p, err := read(file, pid)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func read(from io.Reader, pid int) (found *stacks.Process, err error) {
	buffered := bufio.NewReader(from)
	if magic, _ := buffered.Peek(len(elf.ELFMAG)); string(magic) == elf.ELFMAG {
		return nil, ErrELF
	}
	var pids []int
	for d := json.NewDecoder(buffered); ; {
		var text json.RawMessage
		if err := d.Decode(&text); errors.Is(err, io.EOF) {
			return choose(found, pids, pid)
		} else if err != nil {
			return nil, fmt.Errorf("no complete dump of threads (%w); %s", err, remake)
		}
		var head struct {
			Version *int             `json:"schema_version"`
			PID     int              `json:"pid"`
			Threads *json.RawMessage `json:"threads"`
		}
		if json.Unmarshal(text, &head) != nil || head.Version == nil || head.PID == 0 || head.Threads == nil {
			return nil, fmt.Errorf("no dump of threads; %s", remake)
		}
		if *head.Version != schema.Number {
			return nil, fmt.Errorf("a dump with schema_version %d, and this prywalk reads %d; make both dumps with one version",
				*head.Version, schema.Number)
		}
		if pids = append(pids, head.PID); found == nil && (pid == 0 || head.PID == pid) {
			if err := json.Unmarshal(text, &found); err != nil {
				return nil, fmt.Errorf("no dump of threads (%w); %s", err, remake)
			}
		}
	}
}

func choose(found *stacks.Process, pids []int, pid int) (*stacks.Process, error) {
	switch {
	case len(pids) == 0:
		return nil, fmt.Errorf("it is empty; %s", remake)
	case found == nil:
		return nil, fmt.Errorf("it has no process %d, but %d; give another file, or another process with -p", pid, pids)
	case pid == 0 && len(pids) > 1:
		return nil, fmt.Errorf("it has the processes %d; give one of them with -p", pids)
	}
	for _, list := range itemsOf(found) {
		for _, it := range list {
			for i := range it.stack.Frames {
				if f := &it.stack.Frames[i]; f.Place == nil { // the text lacks it
					f.Place = &stacks.Place{}
				}
			}
		}
	}
	return found, nil
}
