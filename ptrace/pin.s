/* SPDX-License-Identifier: Apache-2.0 */
// This file lets pin_unsafe.go declare functions that have their bodies in package runtime.
