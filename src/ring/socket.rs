//! TCP and Unix sockets with the options that a run wants.
//!
//! It must not know the ring: it asks the kernel directly.
#![allow(unsafe_code, reason = "socket options that rustix does not have")]

use super::paths::INFO_BYTES;
use super::{PortUse, Stamps};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, getsockname, ipproto, listen,
    socket_with, sockopt,
};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Connections that the kernel may hold before we accept them; it lowers this to its own limit (net.core.somaxconn).
const BACKLOG: i32 = 4096;

/// A socket about to connect to `to`, bound to `from` if given.
pub(super) fn to_connect(to: &SocketAddr, from: Option<IpAddr>, stamps: Stamps) -> Result<OwnedFd, Errno> {
    let socket = tcp(to, stamps)?;
    if let Some(from) = from {
        // Else the kernel would pick the port at bind, unique for all targets, and run out of them early.
        set_option(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        bind(&socket, &SocketAddr::new(from, 0))?;
    }
    Ok(socket)
}

/// A socket that listens on `address`, and the address it really has.
pub(super) fn to_listen(
    address: &SocketAddr,
    port: PortUse,
    stamps: Stamps,
) -> Result<(OwnedFd, SocketAddr), Errno> {
    // What is set here, accepted connections inherit.
    let socket = tcp(address, stamps)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if port == PortUse::Shared {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    bind(&socket, address)?;
    listen(&socket, BACKLOG)?;
    let real = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok((socket, real))
}

/// A Unix socket.
pub(super) fn local() -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// A Unix socket that listens at `path`, in place of one that nobody listens on any more.
pub(super) fn to_listen_locally(path: &Path) -> Result<OwnedFd, Errno> {
    let address = SocketAddrUnix::new(path)?;
    let socket = local()?;
    match bind(&socket, &address) {
        Err(Errno::ADDRINUSE)
            if is_socket(path) && connect(local()?, &address) == Err(Errno::CONNREFUSED) =>
        {
            // A server that was killed leaves its file.
            std::fs::remove_file(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            bind(&socket, &address)?;
        }
        bound => bound?,
    }
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

/// A socket whose only use is to be open: the kernel begins to stamp packets some time after the first socket asks for
/// it, so the first connections would go without.
pub(super) fn to_keep_stamping(stamps: Stamps) -> Result<OwnedFd, Errno> {
    tcp(&SocketAddr::from(([127, 0, 0, 1], 0)), stamps)
}

/// Lets the next close send RST instead of FIN.
pub(super) fn abort_on_close(socket: impl AsFd) -> Result<(), Errno> {
    sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO))
}

fn tcp(address: &SocketAddr, stamps: Stamps) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::TCP))?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if stamps != Stamps::Off {
        // Made in the kernel's receive path (RX_SOFTWARE), and handed out with each read (SOFTWARE).
        let mut wanted = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        if stamps == Stamps::Hardware {
            // The card's, as it made it, in the same control message.
            wanted |= libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
        }
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, wanted.cast_signed())?;
    }
    Ok(socket)
}

fn set_option(socket: &OwnedFd, level: i32, name: i32, value: i32) -> Result<(), Errno> {
    let length = libc::socklen_t::try_from(size_of::<i32>()).expect("4");
    // SAFETY: the option is an int, and the kernel reads just that.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if status == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}

/// What TCP tells of a connection (`TCP_INFO`): as many bytes as this kernel has of it.
pub(super) fn tcp_info<'a>(socket: &OwnedFd, into: &'a mut [u8; INFO_BYTES]) -> Option<&'a [u8]> {
    let mut length = libc::socklen_t::try_from(INFO_BYTES).expect("some hundred bytes");
    let bytes = into.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `length` bytes, which is what there is room for, and says how many.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, bytes, &raw mut length)
    };
    if status == 0 { into.get(..usize::try_from(length).ok()?) } else { None }
}
