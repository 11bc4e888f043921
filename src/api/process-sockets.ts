// The sockets of this process, by descriptor. Bun reports no connection that is opened, closed or refused for want of
// a descriptor, and has no way to close one: the C library has, and needs no descriptor for it.

import { dlopen, FFIType } from "bun:ffi";
import { statSync } from "node:fs";

/** By platform: glibc, musl, macOS. */
const libraryNames = [
  "libc.so.6",
  "libc.so",
  "libc.musl-x86_64.so.1",
  "libc.musl-aarch64.so.1",
  "libSystem.B.dylib",
];

const { i32, ptr } = FFIType;
const signatures = {
  getsockname: { args: [i32, ptr, ptr], returns: i32 },
  getpeername: { args: [i32, ptr, ptr], returns: i32 },
  getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
  setsockopt: { args: [i32, i32, i32, ptr, i32], returns: i32 },
  shutdown: { args: [i32, i32], returns: i32 },
  getrlimit: { args: [i32, ptr], returns: i32 },
} as const;

type Library = ReturnType<typeof dlopen<typeof signatures>>["symbols"];

const isLinux = process.platform === "linux";
const RLIMIT_NOFILE = isLinux ? 7 : 8;
const SOL_SOCKET = isLinux ? 1 : 0xffff;
const SO_SNDBUF = isLinux ? 7 : 0x1001;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
const SHUT_RDWR = 2;

/** sockaddr_in and sockaddr_in6 have the port at one place, in network order. */
const portOffset = 2;
const addressBytes = 128;

/** linux/tcp.h: struct tcp_info. Its fields never move; newer kernels append. */
const tcpInfo = { bytes: 136, lastDataSent: 44, lastDataReceived: 52, bytesReceived: 128 } as const;

/** Descriptors are numbered from the lowest free one, so that a long gap is the end, but for gaps that closing leaves. */
const gapMax = 4_096;

/** Open descriptors that are no connections; more that were not found mean that a gap was not the end. */
const othersMax = 256;

export interface ConnectionActivity {
  /** Whether the peer has ever sent a byte. */
  readonly hasReceived: boolean;
  /** Since a byte went either way. */
  readonly silentMs: number;
}

export class ProcessSockets {
  readonly #library: Library;
  readonly #address = Buffer.alloc(addressBytes);
  readonly #info = Buffer.alloc(tcpInfo.bytes);
  readonly #length = new Uint32Array(1);

  private constructor(library: Library) {
    this.#library = library;
  }

  /** Undefined where there is no C library that is known: connections cannot be counted then. */
  static open(): ProcessSockets | undefined {
    for (const name of libraryNames) {
      try {
        return new ProcessSockets(dlopen(name, signatures).symbols);
      } catch {
        // Of another platform.
      }
    }
    return undefined;
  }

  /** How many descriptors the process may have open. */
  get descriptorsMax(): number {
    const limits = new BigUint64Array(2);
    return this.#library.getrlimit(RLIMIT_NOFILE, limits) === 0
      ? Number(limits[0])
      : Number.POSITIVE_INFINITY;
  }

  /** How many are open; undefined where the system does not say without opening another one (before Linux 6.2). */
  get descriptorsOpen(): number | undefined {
    try {
      return statSync("/proc/self/fd").size || undefined;
    } catch {
      return undefined;
    }
  }

  /** The descriptors of connections to each of the ports, those of the listening sockets left out. 0.8 µs each. */
  connectionsTo(ports: readonly number[]): Map<number, number[]> {
    const found = new Map(ports.map((port) => [port, [] as number[]]));
    const open = this.descriptorsOpen;
    const limit = Math.min(this.descriptorsMax, 2 ** 20);
    let count = 0;
    for (let fd = 3, gap = 0; fd < limit; fd++) {
      if (gap++ > gapMax && count + othersMax >= (open ?? 0)) break;
      this.#length[0] = addressBytes;
      if (this.#library.getsockname(fd, this.#address, this.#length) !== 0) continue;
      gap = 0;
      count++;
      const connections = found.get(this.#address.readUInt16BE(portOffset));
      if (connections !== undefined && this.#hasPeer(fd)) connections.push(fd);
    }
    return found;
  }

  /** What has gone over a connection; undefined if it is closed. Other systems than Linux do not say. */
  activity(fd: number): ConnectionActivity | undefined {
    if (!isLinux) return this.#hasPeer(fd) ? { hasReceived: true, silentMs: 0 } : undefined;
    this.#length[0] = tcpInfo.bytes;
    if (this.#library.getsockopt(fd, IPPROTO_TCP, TCP_INFO, this.#info, this.#length) !== 0) return undefined;
    return {
      hasReceived: this.#info.readBigUInt64LE(tcpInfo.bytesReceived) > 0n,
      silentMs: Math.min(
        this.#info.readUInt32LE(tcpInfo.lastDataSent),
        this.#info.readUInt32LE(tcpInfo.lastDataReceived),
      ),
    };
  }

  /** Ends a connection both ways; Bun then closes it as one that its peer has ended. */
  shutDown(fd: number): void {
    this.#library.shutdown(fd, SHUT_RDWR);
  }

  /** Bounds what the system buffers of the answers on each connection that a port accepts from now on. */
  boundSendBuffers(port: number, bytes: number): void {
    const option = new Int32Array([bytes]);
    for (const fd of this.#listenersOn(port))
      this.#library.setsockopt(fd, SOL_SOCKET, SO_SNDBUF, option, option.byteLength);
  }

  #listenersOn(port: number): number[] {
    const listeners: number[] = [];
    for (let fd = 3; fd < gapMax; fd++) {
      this.#length[0] = addressBytes;
      if (this.#library.getsockname(fd, this.#address, this.#length) !== 0) continue;
      if (this.#address.readUInt16BE(portOffset) === port && !this.#hasPeer(fd)) listeners.push(fd);
    }
    return listeners;
  }

  #hasPeer(fd: number): boolean {
    this.#length[0] = addressBytes;
    return this.#library.getpeername(fd, this.#address, this.#length) === 0;
  }
}
