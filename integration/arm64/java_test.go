// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

const (
	javaOnly    = "ARM64_JAVA_ONLY"
	javaSamples = "ARM64_JAVA_SAMPLES"
)

const fewSamples = "300"

// A JVM takes some 20 s to start in the machine, and as long to compile.
const javaLimit = 8 * time.Minute

func TestJavaInAnEmulatedMachine(t *testing.T) {
	from := os.Getenv(fetched)
	if from == "" {
		t.Skip("left to make test-all: boots an emulated machine")
	}
	home := filepath.Join(from, "java")
	_, err := os.Stat(filepath.Join(home, "bin/java"))
	testtargets.Need(t, err == nil, "a Java runtime for arm64 in "+home, "scripts/arm64/fetch.sh")
	b := &builder{t: t, dir: t.TempDir()}
	for _, dir := range []string{"bin", "dev", "programs", "tests", "proc", "sys", "tmp", "usr", "usr/lib",
		"usr/lib/jvm"} {
		b.img.dir(dir)
	}
	b.img.add("dev/console", modeChar|0o600, 5, 1, nil)
	b.put("bin/busybox", filepath.Join(from, "busybox"))
	b.goBuild("init", root, "build", "./integration/arm64/init")
	libraries(b, from)
	for _, name := range []string{"libpthread.so.0", "libdl.so.2", "librt.so.1"} {
		b.put("lib/"+name, filepath.Join("/usr/aarch64-linux-gnu/lib", name))
	}
	b.tree("usr/lib/jvm/java", home)
	b.javac("classes", "Known")
	b.goBuild("tests/java", root, "test", "-c", "./integration/oracle")
	only := os.Getenv(javaOnly)
	if only == "" {
		only = "^(int|c1|c2)$"
	}
	args := []string{"env", "ORACLE_JAVA_CLASSES=/classes", "ORACLE_JAVA_WARM=10s",
		"ORACLE_JAVA_SAMPLES=" + cmp.Or(os.Getenv(javaSamples), fewSamples)}
	args = append(args, "/tests/java", "-test.v", "-test.timeout="+javaLimit.String(),
		"-test.run=TestJavaStacksMatchTheSourceByName/./"+only)
	jobs := []job{{"java", javaLimit, "/tests", args}}
	b.img.file("jobs", jobList(jobs))
	initrd := filepath.Join(b.dir, "initrd")
	f, err := os.Create(initrd)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.img.finish(f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	c := boot(t, javaLimit+2*time.Minute, filepath.Join(from, "vmlinuz"), initrd, cpu)
	c.write(t, os.Getenv(logFile))
	if !c.up || !c.down {
		t.Errorf("the machine did not boot and shut down:\n%s", strings.Join(c.rest, "\n"))
	}
	c.checkJob(t, jobs[0])
	for _, line := range c.jobs["java"].output {
		if counted.MatchString(line) {
			t.Log(strings.TrimSpace(line))
		}
	}
}

var counted = regexp.MustCompile(`\d+ samples, |--- `)

func (b *builder) tree(name, from string) {
	b.t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			b.img.dir(filepath.Join(name, rel))
			return nil
		}
		return b.img.copy(filepath.Join(name, rel), path)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *builder) javac(name, class string) {
	b.t.Helper()
	source, err := testtargets.Source(class + ".java")
	if err != nil {
		b.t.Fatal(err)
	}
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	file := filepath.Join(b.dir, class+".java")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.run("", nil, "javac", "--release", "8", "-Xlint:-options", "-d", dir, file)
	b.tree(name, dir)
}
