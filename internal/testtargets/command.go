// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Command starts a target in a directory ("./") that Stop removes, and returns once it has used CPU time.
func Command(dir string, limit time.Duration, args ...string) (*Target, error) {
	if len(args) == 0 || limit <= 0 {
		return nil, errors.New("no command to start, or no time for it")
	}
	if strings.HasPrefix(args[0], "./") {
		args = append([]string{filepath.Join(dir, args[0])}, args[1:]...)
	}
	t := &Target{Name: args[0], Dir: dir, Expect: Expect{Tree: true}, limit: limit, spec: &spec{}}
	p, err := t.spawn(nil, args...)
	if err == nil {
		t.PID = p.pid
		err = t.busy()
	}
	if err != nil {
		t.Stop()
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return t, nil
}

// Source returns a program's text below src.
func Source(name string) ([]byte, error) {
	text, err := sources.ReadFile("src/" + name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no source %q in package testtargets: %w", name, err)
	}
	return text, err
}
