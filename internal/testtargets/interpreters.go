// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// startPython runs src/load.py.
func startPython(t *Target) error {
	file, err := t.place()
	if err != nil {
		return err
	}
	return t.launch("python3", file)
}

// startNode runs src/load.js. Without inlining, which a perf map cannot tell of, its functions show up by their
// names.
func startNode(t *Target) error { return startNodeWith("--no-turbo-inlining")(t) }

// startNodeWith runs a script with a perf map, which Node writes to /tmp, wherever TMPDIR is.
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

// startNodeChain runs src/chain.js, with a perf map that names interpreted functions too.
func startNodeChain(options ...string) func(*Target) error {
	return startNodeWith(append([]string{"--interpreted-frames-native-stack"}, options...)...)
}

// startMixedNode runs src/mixed.js as anybody would, without a perf map.
func startMixedNode(t *Target) error {
	file, err := t.place()
	if err != nil {
		return err
	}
	return t.launch("node", file)
}

// startJavaClass runs a class of src, with further options of the JVM. Ask [Target.WritePerfMap] for names.
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

// startJava runs src/Load.java and has the JVM write a perf map, which JDK 17 and later can. Its lambdas
// are methods of the one class: a single file is all that is compiled.
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

// WritePerfMap has a JVM write a perf map with the methods that are compiled now.
func (t *Target) WritePerfMap() error {
	if err := run(t.Dir, "jcmd", strconv.Itoa(t.PID), "Compiler.perfmap"); err != nil {
		return fmt.Errorf("the perf map needs a JDK, 17 or later: %w", err)
	}
	return nil
}

// removePerfMap removes the perf map of the target's process when it is stopped.
func (t *Target) removePerfMap() {
	t.cleanup = append(t.cleanup, func() { _ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", t.PID)) })
}
