// The sockets of this process, by descriptor, through the C library. Bun does not report that a connection was opened,
// closed or could not be accepted for lack of a descriptor, and cannot close one.

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

/** The offset of the port in sockaddr_in and in sockaddr_in6, in network byte order. */
const portOffset = 2;
const addressBytes = 128;

/** linux/tcp.h: offsets in struct tcp_info. They are stable; newer kernels append fields. */
const tcpInfo = { bytes: 136, lastDataSent: 44, lastDataReceived: 52, bytesReceived: 128 } as const;

/** A descriptor gets the lowest free number, so that a longer gap is usually the end; closing leaves gaps as well. */
const gapMax = 4_096;

/** Open descriptors that are not sockets. If more are missing from the count, a gap was not the end. */
const othersMax = 256;

export interface ConnectionActivity {
  /** Whether the peer has sent a byte since the connection was opened. */
  readonly hasReceived: boolean;
  /** Milliseconds since a byte was sent or received. */
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

  /** Undefined without a known C library: then connections cannot be counted. */
  static open(): ProcessSockets | undefined {
    for (const name of libraryNames) {
      try {
        return new ProcessSockets(dlopen(name, signatures).symbols);
      } catch {
        // The library of another platform.
      }
    }
    return undefined;
  }

  /** The limit on open descriptors (RLIMIT_NOFILE). */
  get descriptorsMax(): number {
    const limits = new BigUint64Array(2);
    return this.#library.getrlimit(RLIMIT_NOFILE, limits) === 0
      ? Number(limits[0])
      : Number.POSITIVE_INFINITY;
  }

  /** The open descriptors; undefined where counting them would open another one (before Linux 6.2). */
  get descriptorsOpen(): number | undefined {
    try {
      return statSync("/proc/self/fd").size || undefined;
    } catch {
      return undefined;
    }
  }

  /** The descriptors of the connections to each port, without the listening sockets. 0.8 µs for each descriptor. */
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

  /** The activity of a connection; undefined if it is closed. Only Linux reports it: elsewhere every connection is active. */
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

  /** Shuts down both directions; Bun then closes the connection as if its peer had ended it. */
  shutDown(fd: number): void {
    this.#library.shutdown(fd, SHUT_RDWR);
  }

  /** Sets the send buffer of every connection that a port accepts from now on. */
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
