// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

func startPython(t *Target) error {
	file, err := t.place()
	if err != nil {
		return err
	}
	return t.launch("python3", file)
}

// startNode disables inlining, which perf maps do not show.
func startNode(t *Target) error { return startNodeWith("--no-turbo-inlining")(t) }

// startNodeWith has Node write a perf map, always in /tmp.
func startNodeWith(options ...string) func(*Target) error {
	return func(t *Target) error {
		file, err := t.place()
		if err != nil {
			return err
		}
		t.removePerfMap()
		return t.launch(append(append([]string{"node", "--perf-basic-prof"}, options...), file)...)
	}
}

// startNodeChain has interpreted functions in the perf map, too.
func startNodeChain(options ...string) func(*Target) error {
	return startNodeWith(append([]string{"--interpreted-frames-native-stack"}, options...)...)
}

func startMixedNode(t *Target) error {
	file, err := t.place()
	if err != nil {
		return err
	}
	return t.launch("node", file)
}

func startJavaClass(class string, options ...string) func(*Target) error {
	return func(t *Target) error {
		file, err := t.place()
		if err != nil {
			return err
		}
		t.removePerfMap()
		return t.launch(append(append([]string{"java", "-Xmx256m"}, options...), "-cp", filepath.Dir(file), class)...)
	}
}

// startJava has the JVM write a perf map (JDK 17). Lambdas are methods: only one file is compiled.
func startJava(t *Target) error {
	file, err := t.place()
	if err != nil {
		return err
	}
	t.removePerfMap()
	if err := t.launch("java", "-Xmx256m", "-Xshare:auto", "-cp", filepath.Dir(file), "Load"); err != nil {
		return err
	}
	return t.WritePerfMap()
}

// WritePerfMap has a JVM write a perf map of the methods compiled so far.
func (t *Target) WritePerfMap() error {
	if err := run(t.Dir, "jcmd", strconv.Itoa(t.PID), "Compiler.perfmap"); err != nil {
		return fmt.Errorf("the perf map needs a JDK, 17 or later: %w", err)
	}
	return nil
}

func (t *Target) removePerfMap() {
	t.cleanup = append(t.cleanup, func() { _ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", t.PID)) })
}
