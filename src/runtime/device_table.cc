#include "device_table.h"

namespace tvm {
namespace runtime {

namespace {

const DeviceKind kKinds[] = {
    {kDLCPU, "cpu", "llvm,stackvm,c,test,hybrid,composite", nullptr, ""},
    {kDLCUDA, "cuda", "nvptx", "libcuda.so.1", "the NVIDIA driver"},
    {kDLCUDAHost, "cuda_host", "", "libcuda.so.1", "the NVIDIA driver"},
    {kDLOpenCL, "opencl", "cl", "libOpenCL.so.1",
     "an OpenCL driver and its loader, for instance the Debian packages ocl-icd-libopencl1 and "
     "pocl-opencl-icd"},
    {kDLVulkan, "vulkan", "", "libvulkan.so.1",
     "a Vulkan driver and its loader, for instance the Debian packages libvulkan1 and "
     "mesa-vulkan-drivers"},
    {kDLMetal, "metal", "mtl", "Metal.framework", "macOS with a Metal device"},
    {kDLVPI, "vpi", "", "vvp", "a Verilog simulator, for instance the Debian package iverilog"},
    {kDLROCM, "rocm", "", "libamdhip64.so", "the ROCm driver of AMD"},
    {kDLROCMHost, "rocm_host", "", "libamdhip64.so", "the ROCm driver of AMD"},
    {kDLExtDev, "ext_dev", "", "a plug-in that calls TVMRegisterDeviceAPI",
     "the plug-in of your accelerator and load it before the device is used"},
    {kDLCUDAManaged, "cuda_managed", "", "libcuda.so.1", "the NVIDIA driver"},
    {kDLOneAPI, "oneapi", "", "libsycl.so", "a plug-in for Intel oneAPI"},
    {kDLWebGPU, "webgpu", "", "libwgpu_native.so",
     "the wgpu-native library, for instance the Python package wgpu"},
    {kDLHexagon, "hexagon", "", "libcdsprpc.so",
     "the Hexagon SDK, or qemu-hexagon for the simulated device"},
    {kDLAOCL, "aocl", "", "libalteracl.so", "the Intel FPGA SDK for OpenCL"},
    {kDLSDAccel, "sdaccel", "", "libxilinxopencl.so", "the Xilinx run time"},
    {kOpenGL, "opengl", "", "libGL.so.1", "an OpenGL driver"},
    {kDLMicroDev, "microdev", "", "a microcontroller session", "a board and its toolchain"},
};

}  // namespace

const DeviceKind* DeviceKindAt(int index) {
  int size = static_cast<int>(sizeof(kKinds) / sizeof(kKinds[0]));
  return index >= 0 && index < size ? &kKinds[index] : nullptr;
}

const DeviceKind* FindDeviceKind(int device_type) {
  for (const DeviceKind& kind : kKinds) {
    if (kind.device_type == device_type) return &kind;
  }
  return nullptr;
}

std::string DeviceText(DLDevice device) {
  int type = static_cast<int>(device.device_type);
  std::string prefix;
  if (type >= 128) {
    prefix = "remote[" + std::to_string(type / 128 - 1) + "]:";
    type %= 128;
  }
  const DeviceKind* kind = FindDeviceKind(type);
  std::string name = kind != nullptr ? kind->name : "device_type_" + std::to_string(type);
  return prefix + name + "(" + std::to_string(device.device_id) + ")";
}

std::string DeviceMissingText(int device_type) {
  if (device_type >= 128) {
    return "device type " + std::to_string(device_type) + " belongs to remote session " +
           std::to_string(device_type / 128 - 1) +
           ", but no such session is open in this process; connect with tvm.rpc first";
  }
  const DeviceKind* kind = FindDeviceKind(device_type);
  if (kind == nullptr) {
    std::string text = "there is no device type " + std::to_string(device_type) + "; the types are";
    for (int i = 0; const DeviceKind* k = DeviceKindAt(i); ++i) {
      text += (i == 0 ? " " : ", ") + std::to_string(k->device_type) + " (" + k->name + ")";
    }
    return text;
  }
  std::string text = std::string("device ") + kind->name + " is not there";
  if (kind->library != nullptr) text += std::string(": it needs ") + kind->library;
  if (*kind->install != 0) text += std::string("; install ") + kind->install;
  return text;
}

}  // namespace runtime
}  // namespace tvm
