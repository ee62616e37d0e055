// SPDX-License-Identifier: Apache-2.0

// Package arm64 runs tests on arm64 where there is no such machine. It boots a kernel under qemu-system-aarch64,
// with an initrd that holds cross-compiled test binaries, prywalk itself and programs to look at, and judges what
// the machine writes to its console.
//
// "make test-arm64" and CI run it; "make test" leaves it out, as an emulated instruction takes some twenty
// times as long as a real one. The kernel, a static busybox and some libraries come from
// scripts/arm64/fetch.sh. An initrd and not a disk: nothing is needed then but the kernel, no module and no
// file system driver.
//
//   - init is the machine's first program: it mounts what is needed and runs the jobs.
//   - inside holds the tests that are made for it: looks at Go and C programs with known call chains.
//   - cores makes core files, which the test then walks on this machine; package recorded keeps some.
//   - The other jobs are tests of the product's packages, built for arm64.
//
// Environment variables choose jobs, steps and where the whole output goes: see arm64_test.go.
package arm64
